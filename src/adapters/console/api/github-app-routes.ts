import { z } from "zod";
import type { GithubAppRefusal } from "../github-app.ts";
import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import type { Services } from "../services.ts";
import { type ApiCall, type Route, withBody } from "./route.ts";
import {
  githubAppBegin,
  githubAppFinish,
  githubAppForm,
  githubAppReach,
  githubAppState,
} from "./schemas/github-app.ts";

/** The GitHub App: registered by one click, installed, forgotten. */
export const githubAppRoutes: readonly Route[] = [
  {
    ...{ method: "GET", path: "/api/v1/github-app", needs: "operate" },
    summary: "The GitHub App, if there is one",
    answers: githubAppState,
    answer: async ({ githubApp }) => replyJson(200, await githubApp.current()),
  },
  {
    ...{ method: "POST", path: "/api/v1/github-app/look", needs: "operate" },
    summary: "Asks GitHub where the App is installed",
    body: z.strictObject({}),
    answers: githubAppReach,
    async answer({ githubApp }) {
      const found = await githubApp.look();
      return found.ok ? replyJson(200, found.reach) : refuse(found);
    },
  },
  {
    ...{ method: "POST", path: "/api/v1/github-app/begin", needs: "operate", status: 201 },
    summary: "Makes the form that registers an App at GitHub",
    body: githubAppBegin.schema,
    answers: githubAppForm,
    answer: begin,
  },
  {
    ...{ method: "POST", path: "/api/v1/github-app/finish", needs: "operate" },
    summary: "Trades the code that GitHub has sent the browser back with for the App",
    body: githubAppFinish.schema,
    answers: githubAppState,
    answer: finish,
  },
  {
    ...{ method: "POST", path: "/api/v1/github-app/forget", needs: "operate" },
    summary: "Forgets the App's keys; at GitHub it stays",
    body: z.strictObject({}),
    answers: "nothing",
    answer: async ({ githubApp }, { person }) =>
      (await githubApp.forget(person.author))
        ? { status: 204 }
        : replyProblem(409, "There is no GitHub App here."),
  },
];

function begin({ githubApp }: Services, call: ApiCall): Promise<Reply> {
  return withBody(call, githubAppBegin, async (wanted) => {
    // Where the browser is, which checkOrigin has compared with the host.
    const { origin = "" } = call.request.headers;
    const begun = await githubApp.begin({ ...wanted, origin }, call.person.author);
    return begun.ok ? replyJson(201, begun.form) : refuse(begun);
  });
}

function finish({ githubApp }: Services, call: ApiCall): Promise<Reply> {
  return withBody(call, githubAppFinish, async (answer) => {
    const finished = await githubApp.finish(answer, call.person.author);
    return finished.ok ? replyJson(200, finished.state) : refuse(finished);
  });
}

function refuse({ message, outage }: GithubAppRefusal): Reply {
  return replyProblem(outage ? 503 : 409, message);
}
