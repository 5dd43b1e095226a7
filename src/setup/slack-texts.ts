/**
 * What the pages of Slack are called, for people who look at them. They cannot be tried from here: last compared with
 * https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests in November 2026.
 */

/** The form may come up empty: then the manifest is pasted. */
export function describeForm(file: string, link: string, icon: string): string[] {
  return [
    "  1. Open this address, choose your workspace and press Create:",
    `     ${link}`,
    "     If the form comes up empty: From a manifest → YAML, and paste the manifest. It is on the clipboard",
    `     where that is possible, and in ${file}.`,
    "  2. Press Install to Workspace and allow it. In some workspaces an administrator has to approve that first:",
    "     then come back to this step (`heddle setup slack`) when it is approved.",
    ...describeTokens("  3."),
    ...describeIcon(icon),
  ];
}

export function describeTokens(number: string): string[] {
  return [
    `${number} Copy two tokens. Some versions of the page show both under “Your app credentials”; otherwise:`,
    "     - the bot token (xoxb-…) is under OAuth & Permissions,",
    "     - the app-level token (xapp-…) is under Basic Information → App-Level Tokens → Generate, with the scope",
    "       connections:write. It is shown once.",
  ];
}

/** Nothing but the page of the app, or a configuration token, can set it. */
export function describeIcon(file: string): string[] {
  return [
    "     An icon is optional: under Basic Information → Display Information you can upload",
    `     ${file}.`,
  ];
}

export const configurationTokenSteps = [
  "  Open https://api.slack.com/apps, scroll to “Your App Configuration Tokens”, press Generate Token and choose",
  "  your workspace. Copy the Access Token (xoxe.xoxp-…). It is used once, to make the app, and not stored.",
];
