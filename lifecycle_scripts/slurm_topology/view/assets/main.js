// The head: search, legend, colours, sizes, topologies, theme; and the first drawing.

const SMALL_FROM = 1200; // nodes: from here on tiles are small
const NAMES_UP_TO = 64;
const UNFOLDED_UP_TO = 4000; // units: beyond that the page begins folded

// ---- topologies

function chooseDrawing(drawing) {
  view.drawing = drawing;
  drawings.forEach((each, index) => {
    byId(`topology-${index}`).setAttribute("aria-selected", each === drawing);
    byId(`topology-${index}`).tabIndex = each === drawing ? 0 : -1;
    if (each === drawing) byId("panel").setAttribute("aria-labelledby", `topology-${index}`);
  });
  byId("about").textContent = drawing.about;
  fabric.setAttribute("aria-label", `Topology ${drawing.name}`);
  view.hits = search(view.query, drawing);
  foldAll(drawing.units.length <= UNFOLDED_UP_TO);
  tellHits();
  tell();
}

byId("topologies").append(
  ...drawings.map((drawing, index) =>
    make("button", { type: "button", role: "tab", id: `topology-${index}`, "aria-controls": "panel", onclick: () => chooseDrawing(drawing) }, `${drawing.name} `, make("small", {}, drawing.kind)),
  ),
);
for (const list of document.querySelectorAll("[role=tablist]")) arrowKeys(list);
for (const tab of tabs) byId(`tab-${tab}`).addEventListener("click", () => showTab(tab));

// ---- states

states.forEach((state, index) => {
  if (!state.count) return;
  byId("meter").append(make("i", { class: `s-${state.name}`, "--share": state.count }));
  const button = make("button", { type: "button", "aria-pressed": "false", title: state.meaning }, swatch(index), make("span", {}, make("b", {}, state.count.toLocaleString("en")), ` ${state.name}`));
  button.addEventListener("click", () => {
    const isOn = !view.wanted.has(index);
    view.peers = new Set();
    view.wanted[isOn ? "add" : "delete"](index);
    button.setAttribute("aria-pressed", isOn);
    tellHits();
    repaint();
  });
  byId("legend").append(button);
});

// ---- search

const query = byId("query");
let hitAt = -1;

/** What is found, in the order that Enter goes through it, as [kind, index]: a job that is asked for by its id comes first. */
function found() {
  const nodeHits = [...nodes.name.keys()].filter((node) => matches(node)).map((node) => ["node", node]);
  const waiting = view.wanted.size ? [] : view.waiting; // a state of nodes is asked for: jobs without nodes have none
  const isAsked = (job) => jobs[job].id === view.query.trim();
  const jobHits = (wanted) => waiting.filter((job) => isAsked(job) === wanted).map((job) => ["job", job]);
  return [...jobHits(true), ...nodeHits, ...jobHits(false)];
}

function foundText() {
  const hits = found();
  const count = (wanted) => hits.filter(([kind]) => kind === wanted).length;
  const words = ["node", "job"].filter(count).map((kind) => plural(count(kind), kind));
  return words.join(", ") || "nothing found";
}

/** Say what isn't dimmed, and why: the nodes of a job, or what search and states leave. The last that was asked for holds. */
function tellHits() {
  const isAll = view.hits === null && view.wanted.size === 0;
  const isJob = view.peers.size > 0;
  byId("hits").textContent = isJob ? `job ${jobs[view.chosen.index].id}` : isAll ? "" : foundText();
  query.parentElement.classList.toggle("busy", isJob || !isAll);
}

query.addEventListener("input", () => {
  view.query = query.value;
  view.peers = new Set();
  view.hits = search(view.query, view.drawing);
  view.waiting = searchJobs(view.query);
  hitAt = -1;
  tellHits();
  repaint();
});

query.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    query.value = "";
    query.dispatchEvent(new Event("input"));
  } else if (event.key === "Enter") {
    const hits = found();
    if (!hits.length) return;
    hitAt = event.shiftKey ? (hitAt <= 0 ? hits.length : hitAt) - 1 : (hitAt + 1) % hits.length;
    const [kind, index] = hits[hitAt];
    if (kind === "node") goToNode(index);
    else goToJob(index);
    byId("hits").textContent = `${hitAt + 1} of ${hits.length.toLocaleString("en")}`;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    query.focus();
    query.select();
  }
});

// ---- colours and sizes

const choices = [["state", "state"], ...(jobs.length ? [["job", "job"]] : []), ...columns.filter((column) => column.isColour).map((column) => [column.key, column.label])];
byId("colour").append(...choices.map(([value, label]) => make("option", { value }, label)));
const KEYS_AT_ONCE = 24;

function colourKey(values, count = KEYS_AT_ONCE) {
  const shown = values.slice(0, count).map((value, at) => make("span", {}, make("i", { class: "swatch", "--tint": hueAt(at) }), value));
  if (values.length <= count) return shown;
  const more = link(`… and ${(values.length - count).toLocaleString("en")} more`, () => byId("key").replaceChildren(...colourKey(values, values.length)));
  return [...shown, more];
}

byId("colour").addEventListener("change", (event) => {
  view.colour = event.target.value;
  const column = columns.find((each) => each.key === view.colour);
  byId("key").hidden = !column;
  byId("key").replaceChildren(...(column ? colourKey(column.values) : []));
  repaint();
});

function chooseSize(size) {
  view.size = size;
  fabric.classList.toggle("names", size === "names");
  fabric.classList.toggle("small", size === "small");
  byId("size").value = size;
}

byId("size").addEventListener("change", (event) => {
  chooseSize(event.target.value);
  redraw();
});
byId("fold").addEventListener("click", () => foldAll(false));
byId("unfold").addEventListener("click", () => foldAll(true));

byId("close").addEventListener("click", closeSheet);
byId("side").addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isSheet()) closeSheet();
});

byId("theme").addEventListener("click", () => {
  const isDark = getComputedStyle(document.documentElement).colorScheme === "dark" || (document.documentElement.style.colorScheme === "" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.style.colorScheme = isDark ? "light" : "dark";
});

// ---- begin

fabric.style.setProperty("--letters", Math.max(8, ...nodes.name.slice(0, 500).map((name) => name.length)));
chooseSize(nodeCount <= NAMES_UP_TO ? "names" : nodeCount < SMALL_FROM ? "large" : "small");
chooseDrawing(drawings[0]);
fillJobs();
fillFindings();
showTab(findings.some((finding) => finding.severity === "error") ? "findings" : "details");
const asked = nodeByName.get(new URLSearchParams(location.hash.slice(1)).get("node"));
if (asked !== undefined) goToNode(asked);
requestAnimationFrame(() => setTimeout(() => (document.documentElement.dataset.readyMilliseconds = Math.round(performance.now()))));
