// Types of `require('perdure/testing')`.
export * from '../../dist/client/testing/index.js';
