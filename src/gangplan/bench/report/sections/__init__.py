"""One file for each section of a report: rows in, a titled table or nothing out."""
