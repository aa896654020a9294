// The live page. Whatever comes from the service is set as text, never as markup: names of jobs are not to be trusted.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const PERIOD = 2000;
const ROUNDING = 1e-6; // a gap below it counts as none
const at = (id) => document.getElementById(id);

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function duration(seconds) {
  if (seconds === null) return "";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= size) return `${(seconds / size).toFixed(seconds < 10 * size ? 1 : 0)} ${unit}`;
  }
  return `${Math.round(seconds)} s`;
}

function number(value) {
  if (value === 0) return "0";
  if (Math.abs(value) < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(3)));
}

function gap(value) {
  return number(value < ROUNDING ? 0 : value);
}

// The same job has the same hue in every round.
function hue(name) {
  let hash = 2166136261;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return (hash >>> 0) % 360;
}

function figures(data) {
  const last = data.rounds[data.rounds.length - 1];
  const { devices, devices_used: used, actions } = data.cluster;
  const shown = [
    [last.reason, `last round, ${last.pipeline}`],
    [gap(last.gap_of_gain), "gap of gain"],
    [gap(last.relative_gap), "relative gap"],
    [`${number(last.seconds)} s`, "time of the round"],
    [`${used} of ${devices}`, "devices in use"],
    [String(last.jobs - last.waiting), "jobs with a place"],
    [String(last.waiting), "jobs that wait"],
    ...Object.entries(actions).filter(([kind]) => kind !== "KEEP").map(([kind, count]) => [String(count), kind]),
  ];
  at("figures").replaceChildren(...shown.map(([value, name]) => {
    const box = element("div");
    box.append(element("b", value), element("span", name));
    return box;
  }));
}

function node(each) {
  const box = element("div", undefined, `node ${each.state}`);
  const lines = [`${each.name}${each.type ? `, ${each.type}` : ""}: ${each.devices} devices, ${each.state}`];
  const cells = [];
  for (const held of each.jobs) {
    lines.push(`${held.job}: ${held.devices}`);
    for (let i = 0; i < held.devices && cells.length < each.devices; i++) {
      const cell = element("i", undefined, "device");
      const tone = hue(held.job);
      cell.style.background = `light-dark(hsl(${tone} 60% 46%), hsl(${tone} 60% 62%))`;
      cells.push(cell);
    }
  }
  if (each.more_jobs) lines.push(`and ${each.more_jobs} more jobs`);
  for (let i = 0; i < each.broken && cells.length < each.devices; i++) {
    cells.push(element("i", undefined, "device broken"));
  }
  if (each.broken) lines.push(`${each.broken} not ours or out of order`);
  while (cells.length < Math.min(each.devices, 64)) cells.push(element("i", undefined, "device"));
  box.append(...cells.slice(0, 64));
  box.title = lines.join("\n");
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", box.title);
  return box;
}

function cluster(data) {
  const groups = new Map();
  for (const each of data.nodes) {
    const key = JSON.stringify([each.domain, each.type]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(each);
  }
  at("cluster").replaceChildren(...[...groups.values()].map((nodes) => {
    const group = element("div", undefined, "domain");
    const title = [nodes[0].domain, nodes[0].type || "CPU only"].filter(Boolean).join(" · ");
    const row = element("div", undefined, "nodes");
    row.append(...nodes.map(node));
    group.append(element("h3", `${title} · ${nodes.length}`), row);
    return group;
  }));
  const more = data.more_nodes ? `, and ${data.more_nodes} more that are not drawn` : "";
  at("cluster-note").textContent = `${data.nodes.length} nodes${more}; a colour is a job, grey is free`;
}

function queue(data) {
  at("kinds").replaceChildren(...Object.entries(data.kinds).map(([kind, count]) => element("span", `${kind} ${count}`)));
  const rows = data.waiting.map((each) => {
    const row = element("tr");
    row.append(
      element("td", each.job), element("td", duration(each.waited_seconds)),
      element("td", `${each.kind} ${each.code}`), element("td", each.message));
    return row;
  });
  at("queue").replaceChildren(...rows);
  const count = data.waiting.length + data.more;
  const more = data.more ? `, the ${data.waiting.length} that have waited longest` : "";
  at("queue-note").textContent = count ? `${count} wait${more}` : "nobody waits";
}

function chart(box, rounds, field, least) {
  const [width, height, left, bottom, top] = [600, 180, 46, 18, 8];
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const values = rounds.map((each) => Math.max(least, each[field]));
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const y = (value) => top + (height - top - bottom) * (high - Math.log10(value)) / (high - low);
  const x = (place) => left + (width - left - 8) * (rounds.length === 1 ? 0.5 : place / (rounds.length - 1));
  for (let power = low; power <= high; power++) {
    const line = y(10 ** power);
    picture.append(
      drawn("line", { class: "grid", x1: left, x2: width - 8, y1: line, y2: line }),
      drawn("text", { x: left - 6, y: line + 4, "text-anchor": "end" }, power < -3 ? `1e${power}` : String(10 ** power)));
  }
  const points = values.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`);
  picture.append(drawn("polyline", { class: "series", points: points.join(" ") }));
  const last = values.length - 1;
  picture.append(drawn("circle", { class: "point", cx: x(last), cy: y(values[last]), r: 3 }));
  picture.append(drawn("text", { x: left, y: height - 4 }, new Date(rounds[0].at * 1000).toLocaleTimeString()));
  picture.append(drawn("text", { x: width - 8, y: height - 4, "text-anchor": "end" },
    new Date(rounds[last].at * 1000).toLocaleTimeString()));
  picture.append(drawn("title", {}, `${field}: last ${number(rounds[last][field])}`));
  box.replaceChildren(picture);
}

let shown = 0; // when the round that is shown was planned

async function look() {
  try {
    const answer = await fetch(`live.json?after=${shown}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const data = await answer.json();
    at("status").className = "";
    if (data.last === null) {
      at("status").textContent = "waiting for the first round";
    } else {
      at("status").textContent = `last round ${duration(Math.max(0, data.now - data.last))} ago`;
      if (data.rounds) {
        shown = data.last;
        figures(data);
        cluster(data.cluster);
        queue(data.queue);
        chart(at("gap"), data.rounds, "gap_of_gain", ROUNDING);
        chart(at("time"), data.rounds, "seconds", 1e-3);
      }
    }
  } catch (error) {
    at("status").className = "stale";
    at("status").textContent = `the service does not answer (${error.message}); what is shown is old`;
  }
  setTimeout(look, document.hidden ? 5 * PERIOD : PERIOD);
}

look();
