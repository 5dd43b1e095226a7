import { expect, onTestFinished, test } from "vitest";
import { createStaticCredential } from "../../src/repositories/credential.ts";
import { createRepositories, type RepositorySettings } from "../../src/repositories/repositories.ts";
import { startGitea, startGitlab } from "../fakes/git-hosts.ts";
import { startGithub } from "../fakes/github.ts";

const thread = "slack:T1:C1:1.5";
const signal = new AbortController().signal;
const proposal = { branch: "heddle/1-x", base: "main", title: "Hello", body: "World", draft: false };

function accessTo(settings: Partial<RepositorySettings> & { url: string }, token = "glpat-canary") {
  const repositories = createRepositories({
    settings: { shop: { push: "ask", ...settings } },
    namesOf: () => ["shop"],
    credentialOf: () => createStaticCredential(token),
    remember: async () => {},
    now: () => 1,
  });
  const access = repositories.open(thread, () => ({ id: "U1", name: "Ada" }));
  const [repository] = access?.list ?? [];
  const [egress] = repositories.egressOf?.(thread) ?? [];
  if (!access || !repository || !egress) throw new Error("no repository");
  const open = (base = "main") => access.openPullRequest(repository, { ...proposal, base }, signal);
  return { repository, egress, open };
}

test("a merge request on GitLab, in a group below a group, is opened, and found when it is there", async () => {
  const gitlab = await startGitlab("glpat-canary");
  onTestFinished(() => gitlab.close());
  const { repository, egress, open } = accessTo({ url: `${gitlab.origin}/acme/tools/shop`, kind: "gitlab" });
  expect(repository).toMatchObject({ title: "acme/tools/shop", request: "merge request" });
  const address = "https://gitlab.example/acme/tools/shop/-/merge_requests/1";
  expect(await open()).toEqual({ ok: true, url: address, number: 1, isNew: true });
  expect(await open()).toEqual({ ok: true, url: address, number: 1, isNew: false });
  const signedIn = Buffer.from("oauth2:glpat-canary").toString("base64");
  expect(await egress.authorize()).toEqual({ ok: true, value: `Basic ${signedIn}` });

  const stranger = accessTo({ url: `${gitlab.origin}/acme/tools/shop`, kind: "gitlab" }, "wrong");
  expect(await stranger.open()).toMatchObject({
    ok: false,
    message: expect.stringContaining("ask the operator"),
  });
});

test("a pull request on Gitea is opened, and found when it is there", async () => {
  const gitea = await startGitea("canary");
  onTestFinished(() => gitea.close());
  const { open } = accessTo({ url: `${gitea.origin}/acme/shop.git`, kind: "gitea" }, "canary");
  gitea.server.addRepository("acme/shop");
  expect(await open()).toMatchObject({ ok: false });
  gitea.server.git("acme/shop", "branch", proposal.branch, "main");
  const address = "https://gitea.example/acme/shop/pulls/1";
  expect(await open()).toEqual({ ok: true, url: address, number: 1, isNew: true });
  expect(await open()).toEqual({ ok: true, url: address, number: 1, isNew: false });
});

test("of a branch that has several, that for the same base is found", async () => {
  const [gitlab, github] = [await startGitlab("glpat-canary"), await startGithub()];
  onTestFinished(async () => void (await Promise.all([gitlab.close(), github.close()])));
  github.addRepository("acme/shop");
  github.addToken("canary", ["acme/shop"]);
  const git = (...args: string[]) => github.git("acme/shop", ...args);
  const who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
  git("branch", proposal.branch, git(...who, "commit-tree", "main^{tree}", "-p", "main", "-m", "more"));
  git("branch", "release", "main");
  for (const { open } of [
    accessTo({ url: `${gitlab.origin}/acme/tools/shop`, kind: "gitlab" }),
    accessTo({ url: `${github.origin}/acme/shop`, kind: "github", apiUrl: github.origin }, "canary"),
  ]) {
    expect(await open("main")).toMatchObject({ number: 1, isNew: true });
    expect(await open("release")).toMatchObject({ number: 2, isNew: true });
    expect(await open("main")).toMatchObject({ number: 1, isNew: false });
  }
});

test("a host may be served below a path, where its API is too", async () => {
  const [gitlab, gitea] = [await startGitlab("glpat-canary"), await startGitea("canary")];
  onTestFinished(async () => void (await Promise.all([gitlab.close(), gitea.close()])));
  const requested = accessTo({
    ...{ url: `${gitlab.origin}/forge/acme/tools/shop`, kind: "gitlab" },
    apiUrl: `${gitlab.origin}/forge/api/v4`,
  });
  expect(requested.repository).toMatchObject({
    title: "acme/tools/shop",
    address: `${gitlab.origin}/forge/acme/tools/shop.git`,
  });
  expect(await requested.open()).toMatchObject({ ok: true, number: 1 });

  gitea.server.addRepository("acme/shop");
  gitea.server.git("acme/shop", "branch", proposal.branch, "main");
  const url = `${gitea.origin}/forge/acme/shop`;
  const opened = accessTo({ url, kind: "gitea", apiUrl: `${gitea.origin}/forge/api/v1` }, "canary");
  expect(await opened.open()).toMatchObject({ ok: true, number: 1 });
});

test("hosts are known by their name, and speak plain git where they are not", async () => {
  expect(accessTo({ url: "https://github.com/acme/shop" }).repository).toMatchObject({
    address: "http://github.com/acme/shop.git",
    request: "pull request",
  });
  expect(accessTo({ url: "https://gitlab.com/acme/shop" }).repository.request).toBe("merge request");
  const plain = accessTo({ url: "https://git.example:8443/srv/shop", user: "ada" }, "secret");
  expect(plain.repository).toMatchObject({ address: "http://git.example:8443/srv/shop.git" });
  expect(plain.repository.request).toBeUndefined();
  expect(plain.egress.url.href).toBe("https://git.example:8443/srv/shop");
  const signedIn = Buffer.from("ada:secret").toString("base64");
  expect(await plain.egress.authorize()).toEqual({ ok: true, value: `Basic ${signedIn}` });
  expect(await plain.open()).toMatchObject({ ok: false });
});

test("a host that is away is said to be away", async () => {
  const gitea = await startGitea("canary");
  await gitea.close();
  const { open } = accessTo({ url: `${gitea.origin}/acme/shop`, kind: "gitea" });
  expect(await open()).toMatchObject({
    ok: false,
    outage: true,
    message: expect.stringMatching(/did not answer/),
  });
});
