/** On small screens the threads and the files are drawers beside the conversation. */
import { byId } from "./dom.ts";

const drawers: Record<string, HTMLElement> = { threads: byId("threads"), files: byId("files") };

let opener: HTMLElement | null = null;

/** Opens one drawer, or closes what is open with null; tells whether one was open. */
export function openDrawer(name: string | null): boolean {
  const was = document.body.dataset.drawer;
  if (name) document.body.dataset.drawer = name;
  else delete document.body.dataset.drawer;
  byId("main").inert = name !== null;
  for (const button of document.querySelectorAll<HTMLElement>("[data-opens]")) {
    button.setAttribute("aria-expanded", String(button.dataset.opens === name));
  }
  if (name) drawers[name]?.focus();
  else if (was) opener?.focus();
  return was !== undefined;
}

export function setUpDrawers(): void {
  // Where there is room for everything there are no drawers.
  matchMedia("(width < 1080px)").addEventListener("change", () => openDrawer(null));
  for (const button of document.querySelectorAll<HTMLElement>("[data-opens]")) {
    button.addEventListener("click", () => {
      opener = button;
      openDrawer(button.dataset.opens ?? null);
    });
  }
  for (const button of document.querySelectorAll("[data-closes]")) {
    button.addEventListener("click", () => openDrawer(null));
  }
}
