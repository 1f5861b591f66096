// `require('perdure/tool')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/tools/tool.js');
