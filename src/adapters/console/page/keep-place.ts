/** Scrolling through more than is on the page. */

/** Once a frame at most, however often `scroll` is told; returns what ends it. */
export function onScroll(root: HTMLElement, look: () => void): () => void {
  let isDue = false;
  const schedule = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      look();
    });
  };
  root.addEventListener("scroll", schedule, { passive: true });
  return () => root.removeEventListener("scroll", schedule);
}

/**
 * Makes a change, and leaves what has the focus beside these rows, or else the first of them that stays, where the
 * reader sees it. Browsers do so by themselves, but not all of them, nor when rows are taken away above.
 *
 * @returns whether there was any
 */
export function keepPlace(
  root: HTMLElement,
  rows: Iterable<Element> & ArrayLike<Element>,
  change: () => void,
): boolean {
  const { top, bottom } = root.getBoundingClientRect();
  const inView: [row: Element, top: number][] = [];
  const focused = document.activeElement;
  if (focused && focused !== root && root.contains(focused) && !rows[0]?.parentElement?.contains(focused)) {
    const box = focused.getBoundingClientRect();
    if (box.bottom > top && box.top < bottom) inView.push([focused, box.top]);
  }
  for (const row of rows) {
    const box = row.getBoundingClientRect();
    if (box.top >= bottom) break;
    if (box.bottom > top) inView.push([row, box.top]);
  }
  change();
  const anchor = inView.find(([row]) => row.isConnected);
  if (!anchor) return false;
  const [row, before] = anchor;
  const moved = row.getBoundingClientRect().top - before;
  if (moved !== 0) root.scrollTop += moved;
  return true;
}

/** An empty space as high as what it stands for. */
export function setHeight(space: HTMLElement, pixels: number): void {
  const height = `${Math.max(0, Math.round(pixels))}px`;
  if (space.style.height !== height) space.style.height = height;
}
