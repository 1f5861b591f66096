// What a request offers and tells, wherever it says so: tools come at its head and by messages of
// the role system.

type Tool = { readonly name?: string };
type Block = { readonly type?: string; readonly tool?: Tool & { readonly definition?: Tool } };
type Message = { readonly role: string; readonly content: unknown };
type Request = { readonly tools?: readonly object[] | undefined; readonly messages: readonly Message[] };

/** Names, in the order in which they came. */
export function offered(request: Request | undefined): readonly string[] {
  const names = new Set((request?.tools ?? []).map((tool: Tool) => tool.name ?? ''));
  const said = request?.messages.flatMap(({ role, content }) => (role === 'system' ? (content as Block[]) : [])) ?? [];
  for (const { type, tool } of said) {
    const name = tool?.definition?.name ?? tool?.name ?? '';
    if (type === 'tool_addition') names.add(name);
    if (type === 'tool_removal') names.delete(name);
  }
  return [...names];
}

/** The newest of the user's messages, as JSON, with what the system said after it. */
export function newestTold(request: Request | undefined): string {
  const messages = request?.messages ?? [];
  return JSON.stringify(messages.slice(messages.at(-1)?.role === 'system' ? -2 : -1));
}
