// The topology as boxes in boxes: an ARIA tree whose items are the heads of boxes, and nodes. Boxes are made when their parent
// is unfolded, tiles when their leaf comes near the screen, so that 10,000 nodes cost no more than what is looked at.
//
//   .unit > .head[role=treeitem] + .inside[role=group] > .unit …        a box with boxes in it
//   .unit > .head[role=treeitem] + .tiles[role=group] > .tile[role=treeitem]   a leaf switch or block with its nodes

const fabric = byId("fabric");
const view = {
  drawing: drawings[0],
  open: new Set(), // units that are unfolded
  colour: "state",
  size: "large", // of nodes: names, large or small
  wanted: new Set(), // states chosen in the legend; empty: all
  query: "",
  hits: null, // nodes that the search found; null: no search
  waiting: [], // jobs without nodes that the search found
  chosen: null, // {kind: "node" | "unit" | "job", index, drawing: that a unit's index counts in}
  peers: new Set(), // nodes of the chosen job
};

const isLeaf = (unit) => unit.children.length === 0;
const matches = (node) =>
  (view.wanted.size === 0 || view.wanted.has(nodes.state[node])) && (view.hits === null || view.hits.has(node));

const nearby = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => fillTiles(entry.target.previousElementSibling)),
  { rootMargin: "900px" },
);

// ---- making

function columnsFor(count) {
  if (count <= 8) return Math.max(count, 1);
  const width = count % 9 === 0 || count % 9 === 8 ? 9 : 8; // UltraServers: 18, or 17 without the spare
  if (count <= 8 * width) return width;
  return count <= 32 * width ? 2 * width : 8 * width;
}

function share(counts) {
  const parts = counts.map((count, state) => (count ? make("i", { class: `s-${states[state].name}`, "--share": count }) : null));
  return make("span", { class: "share", "aria-hidden": "true" }, ...parts);
}

/** What a box is called: first the words that it shows, so that they can be said to a voice control, then the rest. */
function unitLabel(unit) {
  const shown = shortName(unit);
  const full = shown === unit.name ? "" : ` ${unit.name}`;
  return `${shown} ${countText(unit)}, ${UNIT_WORDS[unit.kind]}${full}: ${inWords(unit.counts)}`;
}

function countText(unit) {
  const free = states.reduce((sum, state, index) => sum + (state.free ? unit.counts[index] : 0), 0);
  const isKnown = states.some((state, index) => state.name !== "unknown" && unit.counts[index]);
  return isKnown && isLeaf(unit) ? `${free} free of ${unit.total}` : plural(unit.total, "node");
}

/** In a small box a name goes without what all its neighbours begin with: that is what tells it from them. */
function shortName(unit) {
  if (!isLeaf(unit) || view.size === "names" || unit.parent === null || unit.name.length <= 10) return unit.name;
  const parent = view.drawing.units[unit.parent];
  parent.common ??= commonStart(parent.children.map((child) => view.drawing.units[child].name));
  return parent.common > 3 && unit.name.length - parent.common >= 2 ? `…${unit.name.slice(parent.common)}` : unit.name;
}

function commonStart(names) {
  const [first, ...others] = names;
  let length = first.length;
  for (const name of others) while (!name.startsWith(first.slice(0, length))) length -= 1;
  return others.length ? Math.min(length, first.length - 4) : 0;
}

function makeUnit(index, level) {
  const unit = view.drawing.units[index];
  const attributes = {
    class: "head",
    role: "treeitem",
    tabindex: "-1",
    "aria-level": level,
    "aria-label": unitLabel(unit),
    "data-unit": index,
  };
  const head = make(
    "div",
    attributes,
    make("i", { class: "fold" }),
    make("span", { class: "name", title: unit.name }, shortName(unit)),
    " ",
    make("span", { class: "count" }, countText(unit)),
    share(unit.counts),
  );
  const element = make("div", { class: `unit ${unit.kind} ${isLeaf(unit) ? "leaf" : "wide"}` }, head);
  setOpen(head, view.open.has(index));
  return element;
}

/** Fold or unfold one box; what is in it is made at the first unfolding. */
function setOpen(head, isOpen) {
  const index = Number(head.dataset.unit);
  const unit = view.drawing.units[index];
  head.setAttribute("aria-expanded", isOpen);
  view.open[isOpen ? "add" : "delete"](index);
  if (isOpen && !head.nextElementSibling) {
    head.after(isLeaf(unit) ? makeTiles(unit) : makeInside(unit, Number(head.getAttribute("aria-level")) + 1));
  }
  if (head.nextElementSibling) head.nextElementSibling.hidden = !isOpen;
}

/** The children of a unit; "--columns" is the widest leaf's, so that all cards of a row are alike. */
function makeInside(unit, level) {
  const widest = Math.max(1, ...unit.children.map((child) => columnsFor(view.drawing.units[child].nodes.length)));
  const children = unit.children.map((child) => makeUnit(child, level));
  return make("div", { class: "inside", role: "group", "--columns": widest }, ...children);
}

function makeTiles(unit) {
  const count = columnsFor(unit.nodes.length);
  const tiles = make("div", { class: "tiles", role: "group", "--columns": count, "--rows": Math.ceil(unit.nodes.length / count) });
  nearby.observe(tiles);
  return tiles;
}

/** Make the tiles of a leaf, once. */
function fillTiles(head) {
  const tiles = head.nextElementSibling;
  if (!tiles?.classList.contains("tiles") || tiles.firstChild) return;
  nearby.unobserve(tiles);
  const level = Number(head.getAttribute("aria-level")) + 1;
  tiles.append(...view.drawing.units[head.dataset.unit].nodes.map((node) => makeTile(node, level)));
}

/** Paper is looked at as a whole. */
addEventListener("beforeprint", () => {
  for (const tiles of fabric.querySelectorAll(".tiles:empty")) fillTiles(tiles.previousElementSibling);
});

function makeTile(node, level) {
  const label = nodeLabel(node);
  const attributes = { role: "treeitem", tabindex: "-1", "aria-level": level, "aria-label": label, title: label, "data-node": node };
  const tile = make("div", attributes);
  if (view.size === "names") tile.append(nodes.name[node]);
  paint(tile, node);
  return tile;
}

function nodeLabel(node) {
  const held = (jobsOfNode.get(node) ?? []).map((job) => `job ${jobs[job].id}`);
  return [nodes.name[node], states[nodes.state[node]].name, ...held, nodes.reason[node]].filter(Boolean).join(", ");
}

function paint(tile, node) {
  const chosen = view.chosen?.kind === "node" && view.chosen.index === node;
  tile.className = `tile s-${states[nodes.state[node]].name}`;
  tile.classList.toggle("dim", view.peers.size > 0 ? !view.peers.has(node) : !matches(node));
  tile.classList.toggle("peer", view.peers.has(node));
  tile.classList.toggle("chosen", chosen);
  if (chosen) tile.setAttribute("aria-selected", "true");
  else tile.removeAttribute("aria-selected");
  const hue = hueOf(node);
  if (hue) tile.style.setProperty("--tint", hue);
  else tile.style.removeProperty("--tint");
}

function hueOf(node) {
  if (view.colour === "state") return null;
  const column = columns.find((each) => each.key === view.colour);
  const at = column ? column.at[node] : (jobsOfNode.get(node)?.[0] ?? -1);
  return at < 0 ? NO_HUE : hueAt(at);
}

function repaint() {
  for (const tile of fabric.querySelectorAll(".tile")) paint(tile, Number(tile.dataset.node));
}

/** Draw the chosen topology anew. */
function redraw() {
  nearby.disconnect();
  const { units } = view.drawing;
  const roots = units.flatMap((unit, index) => (unit.parent === null ? [index] : []));
  fabric.replaceChildren(...roots.map((root) => makeUnit(root, 1)));
  if (!roots.length) fabric.append(make("div", {}, make("div", { role: "treeitem", class: "quiet" }, "no nodes")));
  fabric.querySelector("[role=treeitem]").tabIndex = 0;
}

/** Unfold everything, or fold all that is seen but the outermost boxes with boxes in them; leaves stay open in folded ones. */
function foldAll(isOpen) {
  const { units } = view.drawing;
  const isRoot = (index) => units[index].parent === null;
  const staysOpen = (index) => (isLeaf(units[index]) ? !isRoot(index) && !isRoot(units[index].parent) : isRoot(index));
  view.open = new Set([...units.keys()].filter((index) => isOpen || staysOpen(index)));
  redraw();
}
