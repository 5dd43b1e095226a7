import { z } from "zod";
import type { Arguments } from "./arguments.ts";
import type { Method } from "./method.ts";
import { Refusal } from "./refusal.ts";

/** The limits of https://docs.slack.dev/reference/app-manifest that the fake knows. */
const schema = z.object({
  display_information: z.object({
    name: z.string().min(1).max(35),
    description: z.string().max(140).optional(),
    long_description: z.string().min(174).max(4_000).optional(),
    background_color: z
      .string()
      .regex(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i)
      .optional(),
  }),
  oauth_config: z.object({ scopes: z.object({ bot: z.array(z.string()) }) }),
});

function check(args: Arguments): void {
  const result = schema.safeParse(args.json("manifest"));
  if (result.success) return;
  const errors = result.error.issues.map(({ message, path }) => ({ message, pointer: `/${path.join("/")}` }));
  throw new Refusal("invalid_manifest", { errors });
}

/**
 * Apps made from a manifest, with a configuration token.
 * https://docs.slack.dev/reference/methods/apps.manifest.validate
 * https://docs.slack.dev/reference/methods/apps.manifest.create
 * https://docs.slack.dev/reference/methods/apps.icon.set
 */
export const manifestMethods: Record<string, Method> = {
  "apps.manifest.validate": {
    token: "configuration",
    args: "manifest app_id",
    run: (args) => {
      check(args);
      return {};
    },
  },
  "apps.icon.set": {
    token: "configuration",
    args: "app_id file url",
    run: (args, { workspace }) => {
      if (args.text("app_id") !== workspace.appId) throw new Refusal("invalid_app");
      const file = Buffer.from(args.text("file"), "base64");
      // The signature and the first chunk of a PNG: https://www.w3.org/TR/png-3/#11IHDR
      if (file.toString("latin1", 1, 4) !== "PNG") throw new Refusal("error_bad_format");
      const sides = [file.readUInt32BE(16), file.readUInt32BE(20)];
      if (sides.some((side) => side < 512 || side > 2_000)) throw new Refusal("invalid_icon_size");
      return {};
    },
  },
  "apps.manifest.create": {
    token: "configuration",
    args: "manifest",
    run: (args, { workspace, address, oauth }) => {
      check(args);
      return {
        app_id: workspace.appId,
        credentials: {
          client_id: oauth.clientId,
          client_secret: oauth.clientSecret,
          verification_token: "fake-verification-token",
          signing_secret: "0123456789abcdef0123456789abcdef",
        },
        oauth_authorize_url: address(`/oauth/v2/authorize?client_id=${oauth.clientId}`),
      };
    },
  },
};
