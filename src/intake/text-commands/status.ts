/** Whether the whole message asks how things are (`/status`, `!status`): Slack keeps a leading slash to itself. */
export function isStatusWord(text: string): boolean {
  return /^[/!]status$/i.test(text.trim());
}
