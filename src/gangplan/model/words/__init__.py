"""What the answer says in words: verdicts and notices."""
