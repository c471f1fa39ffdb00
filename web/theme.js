// Light or dark, before the first paint. What was chosen is kept for the next visit; it is no
// secret.
'use strict';
(() => {
    let theme = 'auto';
    try {
        theme = localStorage.getItem('theme') || 'auto';
    } catch {
        // Storage is switched off: the system's choice is used.
    }
    document.documentElement.dataset.theme = theme;
})();
