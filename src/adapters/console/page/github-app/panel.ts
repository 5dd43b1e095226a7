/** The GitHub App on the page Connect: register it, see where it is installed, have it forgotten. */
import type { GithubAppReach, GithubAppState } from "../../github-app.ts";
import { messageOf } from "../transport.ts";
import { type Child, element } from "../dom.ts";
import { emptyNote, failure, section } from "../operations/report.ts";
import { forgetGithubApp, getGithubApp, lookAtGithubApp } from "./requests.ts";

export function githubAppPanel(): HTMLElement {
  const body = element("div", {}, emptyNote("Loading…"));
  const load = () => {
    getGithubApp().then(
      (state) => body.replaceChildren(...describe(state, load)),
      (error: unknown) => body.replaceChildren(failure(error, load)),
    );
  };
  load();
  return section("GitHub App", body);
}

type KnownApp = NonNullable<GithubAppState["app"]>;

function describe({ host, problem, app }: GithubAppState, reload: () => void): Child[] {
  if (app) return describeApp(app, reload);
  if (problem !== undefined) {
    // What cannot be read here any more can still be forgotten.
    return [emptyNote(problem), forgetButton(undefined, reload)];
  }
  const text = `Registered on ${new URL(host).host} by one click; then Heddle clones and opens pull requests with tokens that end after an hour, instead of one long-lived token of a person.`;
  const link = element("a", { href: "/github-app/index.html", class: "action" }, "Register a GitHub App");
  return [element("p", {}, text), link];
}

function describeApp(app: KnownApp, reload: () => void): Child[] {
  const reach = element("div", { "aria-live": "polite" });
  const look = () => {
    reach.replaceChildren(emptyNote("Asking GitHub …"));
    lookAtGithubApp().then(
      (found) => reach.replaceChildren(...describeReach(found)),
      (error: unknown) => reach.replaceChildren(element("p", { class: "fails" }, messageOf(error))),
    );
  };
  look();
  return [
    element("p", {}, away(app.page, app.name), ` of ${app.owner}.`),
    reach,
    element(
      "div",
      { class: "tools" },
      away(app.installAt, "Install it, or change its repositories", "action"),
      element("button", { type: "button", class: "action", onclick: look }, "Refresh"),
      forgetButton(app, reload),
    ),
  ];
}

function describeReach({ installations, missing }: GithubAppReach): Child[] {
  if (installations.length === 0) return [emptyNote("It is not installed anywhere yet.")];
  const lines = installations.map(({ account, isSuspended, repositories, total }) => {
    const more = total > repositories.length ? `, and ${total - repositories.length} more` : "";
    const list = repositories.length > 0 ? `${repositories.join(", ")}${more}` : "no repository";
    return element("li", {}, `${account}: ${isSuspended ? "suspended" : list}`);
  });
  const lacking = missing.map((title) =>
    element("p", { class: "warns" }, `! ${title} stands in the settings, and the App does not reach it.`),
  );
  return [element("ul", { "aria-label": "Where it is installed" }, ...lines), ...lacking];
}

/** Pressed twice, since the keys cannot be had again. */
function forgetButton(app: KnownApp | undefined, reload: () => void): HTMLElement {
  const said = element("span", { role: "status" });
  const button = element("button", { type: "button", class: "action" }, "Forget it");
  button.addEventListener("click", () => {
    if (button.textContent === "Forget it") {
      button.textContent = "Forget its keys";
      const where = app ? [" At GitHub it stays: delete it ", away(app.deleteAt, "there"), "."] : [];
      return said.replaceChildren(" They cannot be had again.", ...where);
    }
    forgetGithubApp().then(reload, (error: unknown) => said.replaceChildren(` ${messageOf(error)}`));
  });
  return element("span", {}, button, said);
}

function away(href: string, label: string, style = ""): HTMLElement {
  return element("a", { href, class: style, target: "_blank", rel: "noopener noreferrer" }, label);
}
