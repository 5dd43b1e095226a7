// `npm run reference`: writes what is made from the schema of the configuration.
import { launch } from "./bootstrap/launch.js";

await launch(["scripts/reference/reference.ts"], { development: true, sandbox: false });
