// An MCP server of the official SDK with very many tools. Its arguments: their number, and the
// characters of each definition.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [count = 0, characters = 0] = process.argv.slice(2).map(Number);
const tools = Array.from({ length: count }, (_, n) => ({
  name: `action_${n}`,
  description: `Does action ${n}. ${'More of it. '.repeat(characters / 12)}`.slice(0, characters),
  inputSchema: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
}));

const server = new Server({ name: 'many', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [{ type: 'text', text: `${params.name} did ${String(params.arguments?.what)}` }],
}));
await server.connect(new StdioServerTransport());
