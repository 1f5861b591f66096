// Types of `require('perdure')`.
export * from '../../dist/client/index.js';
