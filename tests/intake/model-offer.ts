import { efforts } from "../../src/agent/model.ts";
import { findNearest } from "../../src/config/nearest.ts";

/** The models of a thread in which these may be chosen. */
export function offer(...choices: string[]) {
  return { standard: "test/model", choices, efforts: () => efforts, nearest: findNearest };
}
