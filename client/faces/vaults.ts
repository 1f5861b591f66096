// Vaults of credentials for MCP servers: their logs, and what tells whether a credential works.
export { serverOf, Vaults } from '../../store/vaults/vaults.ts';
export { checkCredential } from '../../tools/mcp/check-credential.ts';
export { createPublicFetch } from '../../tools/mcp/public-fetch.ts';
