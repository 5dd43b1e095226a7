/** Signing in: with a token, by a link that carries one, or at a provider, which sends the browser back here. */
import type { SignInProblem } from "../server/sign-in-routes.ts";
import { signIn } from "./api.ts";
import { ApiError, messageOf } from "./transport.ts";
import { byId } from "./dom.ts";
import { readTab, storeTab } from "./local-store.ts";

/** A token in an address is used once, and is gone from the address before anything else happens. */
const tokenAddress = /^#token=(.+)$/;
const problemAddress = /^#sign-in=([a-z-]+)$/;

/** Where the person was going in this tab: the provider sends everybody back to the beginning. */
const goalKey = "heddle-sign-in-goal";

const problems: Record<SignInProblem, string> = {
  declined: "You were not signed in: the provider was told not to, or does not let you in.",
  stale: "That took too long, or was begun in another window or at another address. Sign in again.",
  unreachable: "The provider does not answer. Try again in a moment.",
  invalid: "What the provider answered cannot be trusted; Heddle's log says why.",
  unknown: "You are signed in there, but have no role here: ask whoever runs Heddle to give you one.",
  "too-many": "Too many sign-ins from this address came to nothing: wait a minute, then try again.",
};

const dialog = byId("sign-in", HTMLDialogElement);
const tokenInput = byId("token", HTMLInputElement);
const problem = byId("sign-in-problem");

export function isTokenAddress(hash: string): boolean {
  return tokenAddress.test(hash);
}

/** Does what the page's address says about signing in, and takes that out of it. */
export async function finishSignIn(): Promise<void> {
  const [, token] = tokenAddress.exec(location.hash) ?? [];
  const [, name] = problemAddress.exec(location.hash) ?? [];
  // Who has to sign in once more goes where they were going then.
  const goal = name === undefined ? "" : (readTab(goalKey) ?? "");
  if (token !== undefined || name !== undefined)
    history.replaceState(null, "", `${location.pathname}${goal}`);
  if (name !== undefined)
    problem.textContent = Object.entries(problems).find(([known]) => known === name)?.[1] ?? "";
  if (token !== undefined) await signIn(decodeURIComponent(token));
}

/** Once the person is in: goes on to where they wanted to be. */
export function resumeGoal(): void {
  const goal = readTab(goalKey);
  storeTab(goalKey, undefined);
  const isBeginning = ["", "#", "#/"].includes(location.hash);
  if (goal !== null && isBeginning) history.replaceState(null, "", goal);
}

export function isUnauthorized(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 401;
}

/** Asks for whatever the server takes. */
export function askForSignIn({ signIn: provider }: ApiError): void {
  byId("sign-in-account").hidden = provider === undefined;
  byId("sign-in-about").hidden = provider !== undefined;
  byId("sign-in-label").textContent = provider === undefined ? "Token" : "Or a token";
  if (!dialog.open) dialog.showModal();
}

/** @param onDone is called when the token is right */
export function setUpSignIn(onDone: () => void): void {
  byId("sign-in-link").addEventListener("click", () => storeTab(goalKey, location.hash));
  byId("sign-in-form").addEventListener("submit", (event) => {
    event.preventDefault();
    signIn(tokenInput.value).then(
      () => {
        tokenInput.value = "";
        dialog.close();
        onDone();
      },
      (error: unknown) => {
        // Of a person's own token the server says what to do.
        const isOwn = tokenInput.value.trim().startsWith("heddle_");
        problem.textContent =
          isUnauthorized(error) && !isOwn
            ? "Wrong token. Look for HEDDLE_CONSOLE_TOKEN in Heddle's settings, or for console.token in its data folder."
            : messageOf(error);
      },
    );
  });
}
