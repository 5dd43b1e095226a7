/** Whether the whole message is `status`, `/status` or, as Slack keeps a leading slash for itself, `!status`. */
export function isStatusCommand(text: string): boolean {
  return /^[/!]?status$/i.test(text.trim());
}
