/** What lets teams install the app themselves. https://docs.slack.dev/authentication/installing-with-oauth */
export interface OAuthClient {
  clientId: string;
  clientSecret: string;
  /** Signs the state of an installation; the key that encrypts tokens in Redis is derived from it. */
  stateSecret: string;
  /** Ids of the teams that may install the app; all others are refused. */
  allowed: readonly string[];
}
