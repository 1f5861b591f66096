// Types of `require('perdure/sandbox')`.
export * from '../../dist/client/sandbox/index.js';
