/** On small screens the threads and the files are drawers beside the conversation. */
import { byId } from "./dom.js";

const drawers = { threads: byId("threads"), files: byId("files") };

let opener = null;

/** Opens one drawer, or closes what is open with null; tells whether one was open. */
export function openDrawer(name) {
  const was = document.body.dataset.drawer;
  if (name) document.body.dataset.drawer = name;
  else delete document.body.dataset.drawer;
  byId("main").inert = name !== null;
  for (const button of document.querySelectorAll("[data-opens]")) {
    button.setAttribute("aria-expanded", String(button.dataset.opens === name));
  }
  if (name) drawers[name].focus();
  else if (was) opener?.focus();
  return was !== undefined;
}

export function setUpDrawers() {
  // Where there is room for everything there are no drawers.
  matchMedia("(width < 1080px)").addEventListener("change", () => openDrawer(null));
  for (const button of document.querySelectorAll("[data-opens]")) {
    button.addEventListener("click", () => {
      opener = button;
      openDrawer(button.dataset.opens);
    });
  }
  for (const button of document.querySelectorAll("[data-closes]")) {
    button.addEventListener("click", () => openDrawer(null));
  }
}
