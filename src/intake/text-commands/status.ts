/** Whether the whole message asks how things are (`/status`, `!status`): Slack keeps a leading slash to itself. */
export function isStatusCommand(text: string): boolean {
  return /^[/!]status$/i.test(text.trim());
}
