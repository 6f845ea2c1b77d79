/** Adds the texts of the admin pages when it is loaded. */
import { addTexts } from ".";
import { admin } from "./texts/admin";

addTexts(admin);
