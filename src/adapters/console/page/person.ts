/** Who is signed in, and what they may do: a control that would be refused is not shown. */
import type { Act } from "../../../chat/roles.ts";
import type { SignedIn } from "../services.ts";

let allowed: readonly Act[] | undefined;
let own = "";
let signedOutAt: string | undefined;

/** Takes over who the server says this is. */
export function setPerson(me: SignedIn): void {
  allowed = me.may;
  own = me.id;
  signedOutAt = me.signOutAt;
  // Styles hide what is for others.
  document.body.dataset.may = me.may.join(" ");
}

export function may(act: Act): boolean {
  return allowed?.includes(act) ?? true;
}

/** Where a browser goes that has signed out: to its provider, where one has signed it in, or else back here. */
export function signedOutAddress(): string {
  return signedOutAt ?? location.pathname;
}

/** Whether that is the id of whoever is signed in. */
export function isMe(id: string): boolean {
  return id === own;
}

/** Whether the person may write, answer and stop in that thread of any platform. */
export function mayWorkIn(thread: string): boolean {
  return may(thread.startsWith("local:") ? "work" : "operate");
}
