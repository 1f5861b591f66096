// Types of `require('perdure/tool')`.
export * from '../../dist/tools/tool.js';
