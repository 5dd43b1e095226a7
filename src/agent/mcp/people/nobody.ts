import type { Connection } from "../connection.ts";
import { nothingListed } from "../listing/listing.ts";

/** Of a turn that no person has asked for. */
export const nobody: Connection = {
  state: () => ({ kind: "idle" }),
  listing: () => nothingListed,
  refresh: async () => {},
  relist: async () => {},
  call: async () => ({ kind: "signed-out" }),
  close: async () => {},
};
