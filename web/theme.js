// Light or dark, before the first paint. What was chosen (data-theme) is kept for the next visit; it
// is no secret. What is shown (data-shown) follows from that and the system's choice.
'use strict';
(() => {
    let theme = 'auto';
    try {
        theme = localStorage.getItem('theme') || 'auto';
    } catch {
        // Storage is switched off: the system's choice is used.
    }
    const {dataset} = document.documentElement;
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const show = () => {
        const isDark = dataset.theme === 'dark' || (dataset.theme === 'auto' && dark.matches);
        dataset.shown = isDark ? 'dark' : 'light';
    };
    dataset.theme = theme;
    show();
    addEventListener('themechange', show);
    dark.addEventListener('change', () => dispatchEvent(new Event('themechange')));
})();
