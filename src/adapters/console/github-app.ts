import type { Speaker } from "../../agent/messages.ts";

/** The GitHub App of this Heddle. There is nothing secret in it. */
export interface GithubAppState {
  /** Where one is registered, e.g. `https://github.com`. */
  host: string;
  /** Why none can be registered here, as a sentence. */
  problem?: string;
  app?: {
    name: string;
    /** Whose it is at GitHub. */
    owner: string;
    /** Its own page, where it is installed, and where it is deleted. */
    page: string;
    installAt: string;
    deleteAt: string;
    /** Milliseconds since the epoch. */
    at: number;
  };
}

/** Where the App is installed, as GitHub says at this moment. */
export interface GithubAppReach {
  installations: { account: string; isSuspended: boolean; repositories: string[]; total: number }[];
  /** The repositories of the settings that want the App and that it does not reach. */
  missing: string[];
}

/** A form that the browser takes to GitHub: its address, and the manifest for the field of that name. */
export interface GithubAppForm {
  action: string;
  manifest: string;
}

/** `message` is one sentence for the person; `outage`: the same may be tried again. */
export type GithubAppRefusal = { ok: false; message: string; outage?: boolean };

/** Registers the App by one click, installs it, and forgets it; see docs/repositories.md. */
export interface GithubAppSetup {
  /** Where the form may go, e.g. `https://github.com`. */
  host: string;
  current(): Promise<GithubAppState>;
  /** @param options.origin of the console, as the browser knows it */
  begin(
    options: { organization?: string; origin: string },
    by: Speaker,
  ): Promise<{ ok: true; form: GithubAppForm } | GithubAppRefusal>;
  /** With what GitHub has sent the browser back with; only for who has begun it, once. */
  finish(
    answer: { code: string; state: string },
    by: Speaker,
  ): Promise<{ ok: true; state: GithubAppState } | GithubAppRefusal>;
  look(): Promise<{ ok: true; reach: GithubAppReach } | GithubAppRefusal>;
  /** Forgets the keys here; the App stays at GitHub, which deletes it for its owner only. False where there is none. */
  forget(by: Speaker): Promise<boolean>;
}

/** The page that the form is on, and that GitHub sends the browser back to. */
export const githubAppPage = "/github-app/index.html";
