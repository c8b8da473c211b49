// The picture's data, as view/html.py wrote it, and what is derived from it. Nodes, units, jobs and states are numbers:
// indices into the columns of the data.

const data = JSON.parse(document.getElementById("data").textContent);
const { states, nodes, columns, drawings, jobs, findings } = data;
const nodeCount = nodes.name.length;

const HUES = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#44bb99", "#999933", "#8866cc"];
/** The colour of the n-th value: no two of thousands have the same, though beyond HUES some are near to each other. */
function hueAt(at) {
  const more = at - HUES.length;
  if (more < 0) return HUES[at];
  const hue = (more * 137.508) % 360; // the golden angle: never twice the same, neighbours far apart
  return `oklch(${[0.5, 0.66, 0.8][more % 3]} 0.12 ${hue.toFixed(1)})`;
}
const NO_HUE = "light-dark(#e3e7ed, #2a313c)";

const byId = (id) => document.getElementById(id);
const plural = (count, one, many = one + "s") => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const nodeByName = new Map(nodes.name.map((name, node) => [name, node]));

/** An element with attributes and children; texts become text nodes, so no name can bring markup with it. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (name === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const jobsOfNode = new Map();
jobs.forEach((job, index) => {
  for (const node of job.nodes) jobsOfNode.set(node, [...(jobsOfNode.get(node) ?? []), index]);
});

/** Column values: what is known about a node beside its name and state; null when unknown. */
function known(column, node) {
  const at = column.at[node];
  return at < 0 ? null : column.values[at];
}

// ---- units: counts below each, and where each node is

for (const drawing of drawings) {
  drawing.leafOf = new Map();
  drawing.units.forEach((unit, index) => {
    unit.children = [];
    unit.counts = new Array(states.length).fill(0);
    for (const node of unit.nodes) {
      drawing.leafOf.set(node, index);
      unit.counts[nodes.state[node]] += 1;
    }
    if (unit.parent !== null) drawing.units[unit.parent].children.push(index);
  });
  for (let index = drawing.units.length - 1; index >= 0; index -= 1) {
    const unit = drawing.units[index];
    unit.total = unit.counts.reduce((sum, count) => sum + count, 0);
    if (unit.parent === null) continue;
    const parent = drawing.units[unit.parent];
    unit.counts.forEach((count, state) => (parent.counts[state] += count));
  }
}

const UNIT_WORDS = {
  zone: "Availability Zone",
  switch: "switch",
  leaf: "leaf switch",
  aggregate: "neighbouring blocks",
  block: "block",
  flat: "no topology",
  outside: "outside the topology",
};

const inWords = (counts) =>
  counts
    .map((count, state) => (count ? `${count.toLocaleString("en")} ${states[state].name}` : ""))
    .filter(Boolean)
    .join(", ");

/** A topology with one of these nodes, that on the screen before others and flat ones last; null: none has them. */
function drawingWith(wanted, shown) {
  const byWorth = [...drawings].sort((one, other) => (one.kind === "flat") - (other.kind === "flat"));
  return [shown, ...byWorth].find((drawing) => wanted.some((node) => drawing.leafOf.has(node))) ?? null;
}

/** Where a unit of this name is, as [topology, index]: in the topology on the screen before others; null: nowhere. */
function unitNamed(name, shown) {
  for (const drawing of [shown, ...drawings]) {
    const index = drawing.units.findIndex((unit) => unit.name === name);
    if (index >= 0) return [drawing, index];
  }
  return null;
}

function nodesUnder(drawing, index) {
  const unit = drawing.units[index];
  return unit.children.length ? unit.children.flatMap((child) => nodesUnder(drawing, child)) : unit.nodes;
}

// ---- search

const wordsOf = (query) => query.toLowerCase().split(/\s+/).filter(Boolean);
let texts = null;

/** One lower-case text a node, made at the first search: everything that somebody may look for it by. */
function searchTexts() {
  texts ??= nodes.name.map((name, node) =>
    [
      name,
      states[nodes.state[node]].name,
      nodes.reason[node],
      ...columns.map((column) => known(column, node)),
      ...(jobsOfNode.get(node) ?? []).map((job) => `${jobs[job].id} ${jobs[job].name} ${jobs[job].user}`),
    ]
      .filter(Boolean)
      .join("\n")
      .toLowerCase(),
  );
  return texts;
}

/** The nodes that hold every word of a query, by themselves or by a unit of this drawing that is called so. */
function search(query, drawing) {
  const words = wordsOf(query);
  if (!words.length) return null;
  const found = new Set();
  searchTexts().forEach((text, node) => {
    if (words.every((word) => text.includes(word))) found.add(node);
  });
  drawing.units.forEach((unit, index) => {
    if (words.every((word) => unit.name.toLowerCase().includes(word))) {
      for (const node of nodesUnder(drawing, index)) found.add(node);
    }
  });
  return found;
}

/** The jobs without nodes that hold every word of a query: they wait, so that no node could be found in their place. */
function searchJobs(query) {
  const words = wordsOf(query);
  if (!words.length) return [];
  const text = (job) => [job.id, job.name, job.user, job.state, job.reason].join("\n").toLowerCase();
  return [...jobs.keys()].filter((index) => !jobs[index].nodes.length && words.every((word) => text(jobs[index]).includes(word)));
}
