import type { Author } from "./inbound.ts";

/** Whose words those of a forwarded message are told as: not those of whoever forwards it. */
export const forwardedAuthor: Author = {
  id: "forwarded",
  name: "a forwarded message",
  standing: "external",
  roles: [],
};
