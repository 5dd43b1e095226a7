import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { installedRecord, npm, packagesOf } from "./npm.js";
import { say } from "./speak.js";

/**
 * The packages of package-lock.json. Those for development are installed, and missed, only where they are used: a start
 * downloads half as much (87 MB) and unpacks 200 MB less without them. Where they are all that is missing, they are added
 * to what is there, and where they are there already, a start leaves them.
 *
 * @param {string} root The folder of package-lock.json.
 * @param {string} node The Node that npm runs with.
 * @param {{ development: boolean }} needs
 * @returns {import("./prepare.js").SetupStep}
 */
export function dependenciesStep(root, node, { development }) {
  /** @param {boolean} withDevelopment */
  const lacks = (withDevelopment) => {
    const wanted = packagesOf(join(root, "package-lock.json"));
    const found = packagesOf(installedRecord(root));
    return Object.entries(wanted).some(([path, { version, integrity, optional, devOptional, dev }]) => {
      // An optional one may be for another platform.
      if (path === "" || optional || devOptional || (dev && !withDevelopment)) return false;
      return found[path]?.version !== version || found[path]?.integrity !== integrity;
    });
  };
  return {
    isMissing: () => lacks(development),
    async install() {
      const advice = "Check the connection to the npm registry and the free disk space, and start again.";
      const adds = development && existsSync(installedRecord(root)) && !lacks(false);
      say(
        adds
          ? "adding the packages for development of package-lock.json (npm install)"
          : "installing the packages of package-lock.json into node_modules (npm ci)",
      );
      // Written again at the end, so an interrupted installation is not taken for a complete one.
      rmSync(installedRecord(root), { force: true });
      // `npm ci` would delete and unpack everything again, which takes four times as long. It too keeps to the lockfile.
      const command = adds ? ["install", "--no-save"] : ["ci"];
      await npm(node, root, [...command, development ? "--include=dev" : "--omit=dev"], advice);
    },
  };
}
