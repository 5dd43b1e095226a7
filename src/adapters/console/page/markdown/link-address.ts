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

/** A bare address does not include the punctuation of the sentence around it, nor a parenthesis that it does not open. */
export function stripTrailing(address: string): string {
  let unopened = address.split(")").length - address.split("(").length;
  for (let end = address.length; end > 0; end -= 1) {
    const last = address.charAt(end - 1);
    if (last === ")" ? unopened <= 0 : !".,;:!?*_~".includes(last)) return address.slice(0, end);
    if (last === ")") unopened -= 1;
  }
  return "";
}
