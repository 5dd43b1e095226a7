/** How long something has been running, second by second. */
import { element } from "./dom.ts";

/** What the server's clock is ahead of the browser's, ms. */
let ahead = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const running = new Map<HTMLElement, number>();

/** Takes the server's time: the clock of a phone may be minutes off. */
export function setServerTime(now: number): void {
  ahead = now - Date.now();
}

/** Says for how long something has been running that began then, until it leaves the page. */
export function showElapsed(startedAt: number): HTMLElement {
  const shown = element("span", { class: "elapsed", role: "timer", "aria-live": "off" });
  running.set(shown, startedAt);
  show(shown, startedAt);
  timer ??= setInterval(tick, 1_000);
  return shown;
}

function tick(): void {
  for (const [shown, startedAt] of running) {
    if (shown.isConnected) show(shown, startedAt);
    else running.delete(shown);
  }
  if (running.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

function show(shown: HTMLElement, startedAt: number): void {
  const seconds = Math.max(0, Math.round((Date.now() + ahead - startedAt) / 1_000));
  const text = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (shown.textContent !== text) shown.textContent = text;
}
