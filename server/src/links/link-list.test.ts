import { eachDatabase } from '../testing/databases.ts';
import { linkListContract } from './link-list.contract.ts';
import { linkSizeContract } from './link-list-size.contract.ts';

eachDatabase('Lists of links', linkListContract);
eachDatabase('Lists of many links', linkSizeContract);
