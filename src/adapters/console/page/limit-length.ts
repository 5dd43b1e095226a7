/** How long what people write may be. */
import { formatCount } from "./format.ts";

/** Says what is too long and sends nothing: `maxlength` would cut off the end of what is pasted without a word. */
export function limitLength(control: HTMLInputElement | HTMLTextAreaElement, mostChars: number): void {
  control.addEventListener("input", () => {
    const { length } = control.value;
    const problem = `These are ${formatCount(length)} characters, and ${formatCount(mostChars)} is the most.`;
    control.setCustomValidity(length > mostChars ? problem : "");
  });
}
