// Finding one's way in the fabric: going to a box or node from elsewhere, and by keyboard and pointer.

const headOf = (index) => fabric.querySelector(`[data-unit="${index}"]`);

/** Unfold everything around a box; its head. */
function showUnit(index) {
  const chain = [];
  for (let step = index; step !== null; step = view.drawing.units[step].parent) chain.unshift(step);
  for (const step of chain.slice(0, -1)) setOpen(headOf(step), true);
  return headOf(index);
}

/** Unfold everything around a node, in a topology that has it; its tile, or null. */
function showNode(node) {
  const drawing = drawingWith([node], view.drawing);
  if (!drawing) return null;
  if (drawing !== view.drawing) chooseDrawing(drawing);
  const leaf = showUnit(view.drawing.leafOf.get(node));
  setOpen(leaf, true);
  fillTiles(leaf);
  return leaf.nextElementSibling.querySelector(`[data-node="${node}"]`);
}

/** Unfold everything around a job's nodes, in a topology that has them; bring one of them on the screen if none is. */
function showJob(job) {
  const drawing = drawingWith(jobs[job].nodes, view.drawing);
  if (!drawing) return;
  if (drawing !== view.drawing) chooseDrawing(drawing);
  const inIt = jobs[job].nodes.filter((node) => drawing.leafOf.has(node));
  for (const leaf of new Set(inIt.map((node) => drawing.leafOf.get(node)))) setOpen(showUnit(leaf), true);
  const first = showNode(inIt[0]);
  if (![...fabric.querySelectorAll(".tile.peer")].some(isOnScreen)) first.scrollIntoView({ block: "center" });
}

/** Whether somebody can see all of it: the sheet of narrow screens may lie over it. */
function isOnScreen(element) {
  const box = element.getBoundingClientRect();
  const bottom = isSheet() ? byId("side").getBoundingClientRect().top : innerHeight;
  return box.height > 0 && box.top >= 0 && box.bottom <= bottom;
}

function focusOn(item) {
  fabric.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  item.tabIndex = 0;
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

const isOpen = (item) => item.getAttribute("aria-expanded") === "true";
const isTile = (item) => item.classList.contains("tile");
/** What is moved along: a tile itself, or the box around a head. */
const outer = (item) => (isTile(item) ? item : item.parentElement);
const itemOf = (element) => (!element || isTile(element) ? element : element.firstElementChild);
const after = (item) => itemOf(outer(item).nextElementSibling);
const before = (item) => itemOf(outer(item).previousElementSibling);
const parentItem = (item) => (outer(item).parentElement === fabric ? null : outer(item).parentElement.previousElementSibling);

function itemsIn(head) {
  fillTiles(head);
  return [...head.nextElementSibling.children].map(itemOf);
}

function nextItem(head) {
  return (isOpen(head) && itemsIn(head)[0]) || afterItem(head);
}

function afterItem(item) {
  for (let step = item; step; step = parentItem(step)) if (after(step)) return after(step);
  return null;
}

function lastItem(item) {
  let step = item;
  while (isOpen(step) && itemsIn(step).length) step = itemsIn(step).at(-1);
  return step;
}

function previousItem(head) {
  return before(head) ? lastItem(before(head)) : parentItem(head);
}

/** The tile one row up or down in the same leaf, else the leaf itself or what comes after it. */
function neighbourRow(tile, direction) {
  const tiles = [...tile.parentElement.children];
  const width = getComputedStyle(tile.parentElement).gridTemplateColumns.split(" ").length;
  const there = tiles[tiles.indexOf(tile) + direction * width];
  if (there) return there;
  return direction < 0 ? parentItem(tile) : afterItem(parentItem(tile));
}

/** Where a key leads from an item: another item, the same one folded or unfolded, null: nowhere, undefined: not our key. */
function moved(item, key) {
  switch (key) {
    case "ArrowDown":
      return isTile(item) ? neighbourRow(item, 1) : nextItem(item);
    case "ArrowUp":
      return isTile(item) ? neighbourRow(item, -1) : previousItem(item);
    case "ArrowRight":
      if (isTile(item)) return after(item);
      if (isOpen(item)) return itemsIn(item)[0];
      setOpen(item, true);
      return item;
    case "ArrowLeft":
      if (isTile(item)) return before(item) ?? parentItem(item);
      if (!isOpen(item)) return parentItem(item);
      setOpen(item, false);
      return item;
    case "Home":
      return itemOf(fabric.firstElementChild);
    case "End":
      return lastItem(itemOf(fabric.lastElementChild));
    default:
      return undefined;
  }
}

fabric.addEventListener("keydown", (event) => {
  const item = event.target.closest("[role=treeitem]");
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    if (item.dataset.unit !== undefined) setOpen(item, !isOpen(item));
    return;
  }
  const target = moved(item, event.key);
  if (target === undefined) return;
  event.preventDefault();
  if (!target) return;
  chooseItem(target);
  focusOn(target);
});

fabric.addEventListener("click", (event) => {
  const item = event.target.closest("[role=treeitem]");
  if (!item) return;
  if (item.dataset.unit !== undefined) setOpen(item, !isOpen(item));
  chooseItem(item);
  focusOn(item);
});

function chooseItem(item) {
  if (item.dataset.node !== undefined) choose("node", Number(item.dataset.node));
  else if (item.dataset.unit !== undefined) choose("unit", Number(item.dataset.unit));
}
