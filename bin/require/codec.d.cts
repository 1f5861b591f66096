// Types of `require('perdure/codec')`.
export * from '../../dist/connection/codec.js';
