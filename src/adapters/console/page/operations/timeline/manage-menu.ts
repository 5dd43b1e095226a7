/** What is done with a whole thread: to name it, put it away, take it along, pass it on, delete it. */
import type { ThreadLine } from "../../../../../operations/finding.ts";
import { archiveThread, deleteThread, exportAddress, renameThread } from "../../api.ts";
import { messageOf } from "../../transport.ts";
import { askFor } from "../../conversation/ask.ts";
import { element } from "../../dom.ts";
import { may } from "../../person.ts";
import { showDone, showToast } from "../../toast.ts";

const confirmation = "delete";

/** What the server takes as a name: schemas/requests.ts. */
const mostChars = 100;

/** What only operators are offered. */
function changes(...buttons: HTMLElement[]): HTMLElement[] {
  return may("operate") ? buttons : [];
}

/** Stays while the thread goes on, so that it does not close under somebody's hands. */
export function manageMenu(thread: string) {
  let isArchived = false;
  const act = (work: () => Promise<string>) => async () => {
    try {
      showDone(await work());
      menu.open = false;
    } catch (error) {
      showToast(messageOf(error));
    }
  };
  const button = (label: string, work: () => Promise<string>) =>
    element("button", { type: "button", class: "action", onclick: act(work) }, label);
  const download = (label: string, format: "markdown" | "json" | "tar") =>
    element("a", { class: "action", href: exportAddress(thread, format), download: "" }, label);

  const archive = button("Archive", async () => {
    await archiveThread(thread, !isArchived);
    return isArchived
      ? "The thread is back in the list."
      : "The thread is archived until somebody writes there.";
  });
  const menu = element(
    "details",
    { class: "folded manage" },
    element("summary", {}, "Manage"),
    element(
      "div",
      { class: "tools" },
      ...changes(
        button("Rename…", async () => {
          const renamed = await askFor(
            "What is the thread called? Leave it empty for its own title.",
            "Rename",
            async (title) => {
              const { length } = title.trim();
              if (length > mostChars)
                throw new Error(`A name has at most ${mostChars} characters, and this one has ${length}.`);
              await renameThread(thread, title.trim());
              return "The thread is renamed.";
            },
          );
          return renamed ?? "";
        }),
        archive,
      ),
      button("Copy link", async () => {
        const about = "Whoever may use this console can open it.";
        // Browsers offer the clipboard on this machine and behind https only.
        if (!("clipboard" in navigator)) return `${location.href} is the link. ${about}`;
        await navigator.clipboard.writeText(location.href);
        return `The link is copied. ${about}`;
      }),
      download("Save as Markdown", "markdown"),
      download("Save as JSON", "json"),
      download("Save with files", "tar"),
      ...changes(
        button("Delete…", async () => {
          const question = `This deletes the conversation, its files and its notes for good. Write “${confirmation}” to go on.`;
          const deleted = await askFor(question, "Delete", async (answer) => {
            if (answer.trim().toLowerCase() !== confirmation) return "Nothing was deleted.";
            const { note } = await deleteThread(thread);
            location.hash = "#/threads";
            return note ?? "The thread is deleted.";
          });
          return deleted ?? "";
        }),
      ),
    ),
  );
  return {
    element: menu,
    show({ archived }: ThreadLine): void {
      isArchived = archived === true;
      archive.textContent = isArchived ? "Take out of the archive" : "Archive";
    },
  };
}
