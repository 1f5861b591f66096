// Types of `require('perdure/agent-sdk')`.
export * from '../../dist/client/agent-sdk/index.js';
