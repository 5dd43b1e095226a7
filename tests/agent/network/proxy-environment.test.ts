import { expect, test } from "vitest";
import { proxyVariables } from "../../../src/agent/network/proxy-environment.ts";

const direct = "localhost,127.0.0.1,::1,[::1]";

test.each([
  [{}, {}],
  [{ HTTPS_PROXY: "" }, {}],
  [{ https_proxy: "http://p:1", NODE_USE_ENV_PROXY: "0" }, {}],
  [{ HTTPS_PROXY: "http://p:1" }, { NODE_USE_ENV_PROXY: "1", NO_PROXY: direct, no_proxy: direct }],
  [
    { HTTP_PROXY: "http://p:1", NO_PROXY: ".corp" },
    { NODE_USE_ENV_PROXY: "1", NO_PROXY: `.corp,${direct}`, no_proxy: `.corp,${direct}` },
  ],
])("of %o it makes %o: this machine itself is never asked for by way of a proxy", (env, variables) => {
  expect(proxyVariables(env)).toEqual(variables);
});
