/** The addresses of links. */
import { readThreadAddress } from "../addresses.ts";

/** The address when it is one that may be followed from here, else null. */
export function parseSafeAddress(text: string): string | null {
  const url = URL.parse(text);
  return url && (url.protocol === "https:" || url.protocol === "http:") ? url.href : null;
}

/** The address when it leads to a conversation of this console, else null. */
export function parseOwnAddress(text: string): string | null {
  return readThreadAddress(text) ? text : null;
}

/** A bare address does not include the punctuation of the sentence around it. */
export function stripTrailing(address: string): string {
  const unopened = address.split("(").length < address.split(")").length;
  const trailing = unopened ? ".,;:!?*_~)" : ".,;:!?*_~";
  let end = address.length;
  while (end > 0 && trailing.includes(address.charAt(end - 1))) end -= 1;
  return address.slice(0, end);
}
