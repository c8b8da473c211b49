// The side: what is chosen, the jobs, the findings.

const JOBS_AT_ONCE = 200;
const tabs = ["details", "jobs", "findings"];

function showTab(name) {
  for (const tab of tabs) {
    const isShown = tab === name;
    byId(`tab-${tab}`).setAttribute("aria-selected", isShown);
    byId(`tab-${tab}`).tabIndex = isShown ? 0 : -1;
    byId(`view-${tab}`).hidden = !isShown;
  }
}

/** Left and right move between tabs, as everywhere. */
function arrowKeys(list) {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const all = [...list.querySelectorAll("[role=tab]")];
    const at = all.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = all[(at + step + all.length) % all.length];
    next.click();
    next.focus();
  });
}

const link = (text, onclick) => make("button", { type: "button", class: "link", onclick }, text);
const swatch = (state) => make("i", { class: `swatch s-${states[state].name}`, "aria-hidden": "true" });

function facts(pairs) {
  const list = make("dl");
  for (const [label, value, isCode] of pairs) {
    if (value !== null && value !== undefined && value !== "") list.append(make("dt", {}, label), make("dd", isCode ? { class: "code" } : {}, value));
  }
  return list;
}

// ---- details

/** Choose something, a unit in the topology on the screen: mark it, tell about it, remember it in the address. */
function choose(kind, index) {
  view.chosen = { kind, index, drawing: view.drawing };
  view.peers = new Set(kind === "job" ? jobs[index].nodes : []);
  repaint();
  tellHits();
  tell();
  showTab("details");
  byId("side").classList.add("told");
  if (kind === "node") history.replaceState(null, "", `#node=${encodeURIComponent(nodes.name[index])}`);
}

/** On narrow screens what is told lies over the fabric as a sheet. */
const isSheet = () => getComputedStyle(byId("side")).position === "fixed";

/** Put the sheet back below the fabric, and go on where it was opened. */
function closeSheet() {
  byId("side").classList.remove("told");
  fabric.querySelector('[tabindex="0"]').focus({ preventScroll: true });
}

/** Tell what is chosen, or else about the cluster, as the topology on the screen has it. */
function tell() {
  const { kind, index, drawing } = view.chosen ?? {};
  const about = { node: aboutNode, unit: aboutUnit, job: aboutJob }[kind] ?? aboutCluster;
  byId("view-details").replaceChildren(...about(index, drawing), keys());
}

function goToNode(node) {
  const tile = showNode(node);
  choose("node", node);
  if (!tile) return;
  fabric.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  tile.tabIndex = 0;
  tile.scrollIntoView({ block: "center" });
}

function goToJob(job) {
  choose("job", job);
  showJob(job);
}

/** A unit's index says nothing without its topology: a link outlives the topology that it was made in. */
const unitLink = (drawing, index) => link(drawing.units[index].name, () => goToUnit(drawing, index));

function goToUnit(drawing, index) {
  if (drawing !== view.drawing) chooseDrawing(drawing);
  const head = showUnit(index);
  setOpen(head, true);
  choose("unit", index);
  focusOn(head);
}

function aboutNode(node) {
  const state = nodes.state[node];
  const held = (jobsOfNode.get(node) ?? []).map((job) => link(`${jobs[job].id} ${jobs[job].name}`, () => goToJob(job)));
  return [
    make("h2", {}, nodes.name[node]),
    facts([
      ["state", make("span", { class: "row" }, swatch(state), `${states[state].name}: ${states[state].meaning}`)],
      ["reason", nodes.reason[node]],
      ...columns.map((column) => [column.label, known(column, node), column.isCode]),
    ]),
    ...(held.length ? [make("h3", {}, "Jobs"), make("ul", { class: "list" }, ...held.map((job) => make("li", {}, job)))] : []),
    ...placeOf(node),
  ];
}

/** The units around a node, outermost first, each a link; of another topology when that on the screen lacks the node. */
function placeOf(node) {
  const drawing = drawingWith([node], view.drawing);
  if (!drawing) return [];
  const names = [];
  for (let index = drawing.leafOf.get(node); index !== null; index = drawing.units[index].parent) names.unshift(index);
  const items = names.map((index) => make("li", {}, unitLink(drawing, index), make("span", { class: "quiet" }, ` ${UNIT_WORDS[drawing.units[index].kind]}`)));
  return [make("h3", {}, `Place in ${drawing.name}, from the outside in`), make("ol", { class: "list code" }, ...items)];
}

function aboutUnit(index, drawing) {
  const unit = drawing.units[index];
  const counts = unit.counts.flatMap((count, state) => (count ? [make("li", { class: "row" }, swatch(state), states[state].name, make("span", { class: "end" }, count.toLocaleString("en")))] : []));
  const inIt = jobsIn(nodesUnder(drawing, index));
  return [
    make("h2", {}, unit.name),
    facts([["what", UNIT_WORDS[unit.kind]], ["topology", drawing.name], ["nodes", unit.total.toLocaleString("en")], ["UltraServer", unit.ultraserver, true], ["host list", unit.hosts, true]]),
    make("h3", {}, "States"),
    make("ul", { class: "list" }, ...counts),
    ...(inIt.length ? [make("h3", {}, "Jobs here"), make("ul", { class: "list" }, ...inIt.slice(0, JOBS_AT_ONCE).map(([job, count]) => make("li", { class: "row" }, link(`${jobs[job].id} ${jobs[job].name}`, () => goToJob(job)), make("span", { class: "end" }, plural(count, "node")))))] : []),
  ];
}

function jobsIn(wanted) {
  const counts = new Map();
  for (const node of wanted) for (const job of jobsOfNode.get(node) ?? []) counts.set(job, (counts.get(job) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]);
}

function aboutJob(index) {
  const job = jobs[index];
  const drawing = drawingWith(job.nodes, view.drawing) ?? view.drawing;
  const leaves = new Set(job.nodes.map((node) => drawing.leafOf.get(node)));
  const places = [...leaves].slice(0, JOBS_AT_ONCE).map((leaf) => make("li", {}, leaf === undefined ? "outside" : unitLink(drawing, leaf)));
  return [
    make("h2", {}, `${job.id} ${job.name}`),
    facts([["state", job.state], ["user", job.user], ["nodes", job.count.toLocaleString("en")], ["topology", job.topology], ["waits for", job.reason], ["placement", job.placement]]),
    ...(places.length ? [make("h3", {}, `In ${plural(leaves.size, "place")} of ${drawing.name}`), make("ul", { class: "list code" }, ...places)] : []),
    make("p", {}, link("Show all jobs", () => { clearJob(); showTab("jobs"); })),
  ];
}

function clearJob() {
  view.peers = new Set();
  view.chosen = null;
  repaint();
  tellHits();
  tell();
}

function keys() {
  const rows = [["/", "search"], ["Enter", "in the search: next hit"], ["Esc", "clear the search"], ["← → ↑ ↓", "move, fold and unfold"], ["Home End", "first and last"]];
  return make("details", { class: "keys" }, make("summary", {}, "Keys"), make("dl", {}, ...rows.flatMap(([key, what]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)])));
}

// What is told while nothing is chosen: how much is free, how near together, and what is out of service.

const OUT_OF_SERVICE_AT_ONCE = 12;

function aboutCluster() {
  const free = states.reduce((sum, state) => sum + (state.free ? state.count : 0), 0);
  const away = nodes.name.flatMap((_, node) => (states[nodes.state[node]].isAway ? [node] : []));
  const largest = largestFree();
  const rows = away.slice(0, OUT_OF_SERVICE_AT_ONCE).map((node) =>
    make(
      "li",
      {},
      make("div", { class: "row" }, swatch(nodes.state[node]), link(nodes.name[node], () => goToNode(node)), make("span", { class: "end" }, states[nodes.state[node]].name)),
      nodes.reason[node] ? make("div", { class: "quiet" }, nodes.reason[node]) : null,
    ),
  );
  return [
    make("h2", { class: "plain" }, "At a glance"),
    make("p", { class: "quiet" }, "Choose a node, a switch, a block or a job to see what is known about it."),
    ...(free ? [facts([["free nodes", free.toLocaleString("en")], ["most in one place", largest]])] : []),
    ...(rows.length ? [make("h3", {}, `Out of service: ${away.length.toLocaleString("en")}`), make("ul", { class: "list" }, ...rows)] : []),
    ...(away.length > rows.length ? [make("p", { class: "quiet" }, `… and ${(away.length - rows.length).toLocaleString("en")} more: choose the state above`)] : []),
  ];
}

/** The leaf switch or block with the most free nodes, as a link; null where nothing is free, known, or a place. */
function largestFree() {
  const { drawing } = view;
  const { units } = drawing;
  const freeIn = (unit) => states.reduce((sum, state, index) => sum + (state.free ? unit.counts[index] : 0), 0);
  const leaves = [...units.keys()].filter((index) => isLeaf(units[index]) && units[index].kind !== "flat" && units[index].kind !== "outside");
  const best = leaves.reduce((most, index) => (most === null || freeIn(units[index]) > freeIn(units[most]) ? index : most), null);
  if (best === null || !freeIn(units[best])) return null;
  return make("span", {}, `${freeIn(units[best])} of ${units[best].total} in `, unitLink(drawing, best));
}

// ---- jobs and findings

function fillJobs(count = JOBS_AT_ONCE) {
  const items = jobs.slice(0, count).map((job, index) =>
    make(
      "li",
      {},
      make("div", { class: "row" }, link(`${job.id} ${job.name}`, () => goToJob(index)), make("span", { class: "end" }, plural(job.count, "node"))),
      make("div", { class: "quiet" }, [job.user, job.state.toLowerCase(), job.placement || job.reason].filter(Boolean).join(" · ")),
    ),
  );
  const more = jobs.length > count ? make("p", {}, link(`Show all ${jobs.length.toLocaleString("en")}`, () => fillJobs(jobs.length))) : null;
  byId("view-jobs").replaceChildren(make("ul", { class: "list" }, ...items), ...(more ? [more] : []), ...(jobs.length ? [] : [make("p", { class: "quiet" }, "No jobs are known.")]));
  byId("tab-jobs").replaceChildren("Jobs ", make("small", {}, jobs.length.toLocaleString("en")));
}

function fillFindings() {
  const items = findings.map((finding) =>
    make(
      "li",
      {},
      make("div", { class: "row" }, make("span", { class: `badge ${finding.severity}` }, finding.severity), make("span", { class: "code" }, finding.id), subjectLink(finding.subject)),
      make("p", {}, finding.message),
      finding.remedy ? make("p", { class: "quiet" }, `→ ${finding.remedy}`) : null,
    ),
  );
  byId("view-findings").replaceChildren(make("ul", { class: "list" }, ...items), ...(findings.length ? [] : [make("p", { class: "quiet" }, "Nothing to report.")]));
  byId("tab-findings").replaceChildren("Findings ", make("small", {}, findings.length.toLocaleString("en")));
}

function subjectLink(subject) {
  if (nodeByName.has(subject)) return link(subject, () => goToNode(nodeByName.get(subject)));
  if (unitNamed(subject, view.drawing)) return link(subject, () => goToUnit(...unitNamed(subject, view.drawing)));
  return make("span", { class: "quiet" }, subject);
}
