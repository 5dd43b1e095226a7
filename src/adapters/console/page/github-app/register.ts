/**
 * The page that registers a GitHub App. It alone may send a form away, to GitHub only, and it is where GitHub sends the
 * browser back to: with a code for a new App, and after an installation.
 */
import { messageOf } from "../transport.ts";
import { byId, type Child, element } from "../dom.ts";
import { beginGithubApp, finishGithubApp, getGithubApp } from "./requests.ts";

const root = byId("registration");
const heading = () => element("h2", {}, "A GitHub App for Heddle");

function show(...children: Child[]): void {
  root.replaceChildren(heading(), ...children);
}

function backLink(label = "Back to Connect"): HTMLElement {
  return element("p", {}, element("a", { href: "/#/connect" }, label));
}

function showFailure(error: unknown, onRetry: () => void): void {
  const again = element("button", { type: "button", class: "action", onclick: onRetry }, "Try again");
  show(element("p", { class: "fails", role: "alert" }, messageOf(error)), again, backLink());
}

async function showForm(): Promise<void> {
  try {
    const { host, problem, app } = await getGithubApp();
    if (problem !== undefined) return show(element("p", {}, problem), backLink());
    if (app) return show(element("p", {}, `There is one already: ${app.name}.`), backLink());
    show(...formParts(new URL(host).host), backLink());
  } catch (error) {
    showFailure(error, () => void showForm());
  }
}

function formParts(host: string): Child[] {
  const said = element("p", { class: "fails", role: "alert" });
  const name = element("input", { name: "organization", maxlength: 39, spellcheck: "false" });
  const send = element("button", { type: "submit", class: "action primary" }, `Create it on ${host}`);
  const onsubmit = (event: Event) => {
    event.preventDefault();
    send.disabled = true;
    beginGithubApp(name.value.trim()).then(
      ({ action, manifest }) => {
        const field = element("input", { type: "hidden", name: "manifest", value: manifest });
        const form = element("form", { action, method: "post", hidden: true }, field);
        root.append(form);
        form.submit();
      },
      (error: unknown) => {
        said.textContent = messageOf(error);
        send.disabled = false;
      },
    );
  };
  return [
    element(
      "p",
      {},
      `${host} shows what Heddle asks for: to read and write contents and pull requests, and nothing else of what is yours. The App's keys come here by themselves, are stored sealed, and are shown to nobody.`,
    ),
    element(
      "form",
      { class: "setup-question", autocomplete: "off", onsubmit },
      element("label", {}, "Organization (empty: your own account) ", name),
      send,
    ),
    said,
  ];
}

async function finish(answer: { code: string; state: string }): Promise<void> {
  show(element("p", { class: "soft", role: "status" }, "Fetching the App …"));
  try {
    const { app } = await finishGithubApp(answer);
    if (!app) return showForm();
    const install = element("a", { href: app.installAt, class: "action primary" }, "Install it");
    show(
      element("p", { class: "works", role: "status" }, `${app.name} is registered and stored.`),
      element("p", {}, "Next, choose the repositories that it may work on: ", install),
      backLink("Later"),
    );
  } catch (error) {
    showFailure(error, () => void finish(answer));
  }
}

const query = new URLSearchParams(location.search);
const [code, state] = [query.get("code"), query.get("state")];
// A code is for one time, and belongs into no history.
history.replaceState(null, "", location.pathname);
if (code !== null && state !== null) void finish({ code, state });
else if (query.has("setup_action"))
  // What GitHub says in the address anybody can say; where the App is installed is asked of GitHub.
  location.replace("/#/connect");
else void showForm();
