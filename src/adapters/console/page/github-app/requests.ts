/** What the page asks of its server about the GitHub App. */
import type { GithubAppForm, GithubAppReach, GithubAppState } from "../../github-app.ts";
import { postForNothing, request } from "../transport.ts";

export function getGithubApp(): Promise<GithubAppState> {
  return request("GET", "/api/v1/github-app");
}

export function lookAtGithubApp(): Promise<GithubAppReach> {
  return request("POST", "/api/v1/github-app/look", {});
}

/** @param organization empty for the person's own account */
export function beginGithubApp(organization: string): Promise<GithubAppForm> {
  return request("POST", "/api/v1/github-app/begin", { ...(organization !== "" && { organization }) });
}

export function finishGithubApp(answer: { code: string; state: string }): Promise<GithubAppState> {
  return request("POST", "/api/v1/github-app/finish", answer);
}

export function forgetGithubApp(): Promise<void> {
  return postForNothing("/api/v1/github-app/forget", {});
}
