import { z } from "zod";
import { count } from "./values.ts";

/** What threads may show people in a browser, in `heddle.yaml`. docs/previews.md explains it. */

const address = z
  .string()
  .refine((text) => {
    const url = URL.parse(text.replaceAll("{id}", "id").replaceAll("{port}", "80"));
    const [authority = ""] = text.replace(/^https?:\/\//, "").split("/");
    return (
      url !== null &&
      ["http:", "https:"].includes(url.protocol) &&
      /^(\{id\}|[a-z0-9-]*-\{id\}|\{id\}-[a-z0-9-]*)\./.test(authority.replaceAll("{port}", "80")) &&
      url.pathname === "/" &&
      url.search === ""
    );
  }, "expected an address whose host name begins with {id}, e.g. https://{id}.previews.example")
  .transform((text) => text.replace(/\/$/, ""));

export const previewsSchema = z
  .strictObject({
    address: address
      .exactOptional()
      .describe(
        "where a preview is found, with {id} first in the host name and {port} where it is needed: http://{id}.localhost:{port} for people on this machine. Without it nothing can be shared",
      ),
    host: z.string().min(1).default("127.0.0.1").describe("the address that previews listen on"),
    port: count(0, 65_500)
      .default(3300)
      .describe("and the port; further workers of a machine take the next free one of ten. 0: any free one"),
    minutes: count(1, 10_080)
      .default(240)
      .describe("longest life of a preview; sandbox.jobMinutes ends it too"),
    perThread: count(1, 20).default(3).describe("previews of a thread at once"),
  })
  .prefault({});
