import { eachDatabase } from '../testing/databases.ts';
import { outboxContract } from './outbox.contract.ts';

eachDatabase('Outbox', outboxContract);
