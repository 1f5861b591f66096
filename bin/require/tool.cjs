// `require('perdure/tool')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/activities/tools/tool.js');
