/** What lets workspaces install the app themselves. https://docs.slack.dev/authentication/installing-with-oauth */
export interface OAuthClient {
  clientId: string;
  clientSecret: string;
  /** Signs the state of an installation; the key under which tokens lie in Redis is derived from it. */
  stateSecret: string;
  /** Ids of the workspaces that may install the app; nobody else is let in. */
  allowed: readonly string[];
}
